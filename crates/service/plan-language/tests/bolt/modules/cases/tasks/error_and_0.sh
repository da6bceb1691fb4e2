#!/bin/sh
echo '{"_error": {"msg": "own words", "kind": "cases/own", "details": {}}}'
