#!/bin/sh
echo '{"it": "is"}'
