#include "sim/read/program_csv.hpp"
