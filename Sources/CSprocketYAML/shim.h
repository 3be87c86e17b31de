#pragma once
// libyaml, and what of it Swift cannot import, each with its reason.

#include <yaml.h>

#include "../CSprocketLibraries/table.h"

// The library is not linked: SprocketYAML loads it when a file of YAML is read (YAML.swift). These are the
// functions that it calls. Tests/Tidy finds those that nobody calls.
#define SPROCKET_YAML(FUNCTION) \
  FUNCTION(0, yaml_event_delete) \
  FUNCTION(0, yaml_parser_delete) \
  FUNCTION(0, yaml_parser_initialize) \
  FUNCTION(0, yaml_parser_parse) \
  FUNCTION(0, yaml_parser_set_input_string)

SPROCKET_TABLE(sprocket_yaml, SPROCKET_YAML)
