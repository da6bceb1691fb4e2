#!/bin/sh
for word in "$@"; do echo "$word"; done
