/* stage.c - the program logitile-stage. Reads a text that nobody has checked, so that no other process has to. */
#include "runtime/logitile.h"

int main(int count, char **arguments) { return lt_stage_main(count, arguments); }
