#!/bin/sh
echo '{"_error": {"msg": "own words"}}'
exit 3
