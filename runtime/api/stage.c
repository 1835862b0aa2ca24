/* stage.c - the program logitile-stage. It reads an unchecked text, so that no other process has to
 * read it. */
#include "runtime/logitile.h"

int main(int count, char **arguments) { return lt_stage_main(count, arguments); }
