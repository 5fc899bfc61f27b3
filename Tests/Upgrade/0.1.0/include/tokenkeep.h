/* SPDX-License-Identifier: Apache-2.0 */
/* TokenKeep for programs: everything but the interface for modules' authors. */
#ifndef TOKENKEEP_H
#define TOKENKEEP_H

#include <tokenkeep/version.h>
#include <tokenkeep/types.h>
#include <tokenkeep/store.h>
#include <tokenkeep/watch.h>
#include <tokenkeep/session.h>
#include <tokenkeep/oauth.h>

#endif
