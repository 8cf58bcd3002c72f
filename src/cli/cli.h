/*
 * cli.h - the command line: the whole program behind main().
 *
 * Results go to stdout, diagnostics and progress to stderr. The exit status: 0 done, 1 ran but missed an
 * SLO or `require`, 2 usage, 3 invalid input, 4 file or database, 5 cannot start, 70 a defect.
 */
#ifndef KVSIM_CLI_CLI_H
#define KVSIM_CLI_CLI_H

/* words[0] is the program's name, as in main(). */
int cli_main(int count, const char *const *words);

#endif
