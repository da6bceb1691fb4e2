#!/bin/sh
echo '{"part": 1}'
echo it went wrong >&2
exit 3
