#!/bin/sh
printf '{"word": "%s"}\n' "$PT_word"
