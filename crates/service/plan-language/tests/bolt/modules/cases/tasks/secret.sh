#!/bin/sh
echo '{"_sensitive": {"password": "hunter2"}}'
