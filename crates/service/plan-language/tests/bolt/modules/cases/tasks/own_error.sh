#!/bin/sh
echo '{"_error": {"msg": "own words", "kind": "cases/own", "details": {"a": 1}}}'
exit 3
