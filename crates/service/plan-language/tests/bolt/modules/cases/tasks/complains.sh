#!/bin/sh
echo it went wrong >&2
exit 3
