/* libcurl's functions, filled in by tokenkeep_curl_load. */
#ifndef TOKENKEEP_CURL_TABLE_H
#define TOKENKEEP_CURL_TABLE_H

#include "curl_types.h"

/* Every function of curl_functions.def, under its own name. */
typedef struct curl_table {
#define FUNCTION(result, name, parameters) result(*name) parameters;
#include "curl_functions.def"
#undef FUNCTION
} curl_table;

__attribute__((visibility("hidden"))) extern curl_table tokenkeep_curl;

#endif
