#!/bin/sh
echo "{\"number\": $PT_number}"
