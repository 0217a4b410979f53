#include "skyfix/cli/commands.h"

int main(int argc, char** argv) { return skyfix::cli::run_program(argc, argv); }
