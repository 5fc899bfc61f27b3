#ifndef TOKENKEEP_PAM_INSTALLED_PROGRAM_H
#define TOKENKEEP_PAM_INSTALLED_PROGRAM_H

/* The path of the program tokenkeep that is installed with this module, to be freed by the caller; NULL if
 * the path cannot be determined. Links to the module's file are followed, because the program's place is
 * relative to the file itself. */
char *installed_program(void);

#endif
