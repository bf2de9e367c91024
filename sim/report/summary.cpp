#include "sim/report/summary.hpp"
