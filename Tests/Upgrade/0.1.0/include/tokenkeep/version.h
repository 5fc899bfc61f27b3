/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOKENKEEP_VERSION_H
#define TOKENKEEP_VERSION_H

/* The version of these headers. tokenkeep_version() returns the version of the loaded library. */
#define TOKENKEEP_VERSION_MAJOR 0
#define TOKENKEEP_VERSION_MINOR 1
#define TOKENKEEP_VERSION_PATCH 0
#define TOKENKEEP_VERSION       "0.1.0"
/* major * 10^6 + minor * 10^3 + patch */
#define TOKENKEEP_VERSION_NUMBER 1000

#endif
