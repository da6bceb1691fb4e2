#!/bin/sh
echo '{"_error": "just text"}'
exit 3
