#!/bin/sh
echo some text
