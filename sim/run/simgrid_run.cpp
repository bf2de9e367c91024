#include "sim/run/simgrid_run.hpp"
