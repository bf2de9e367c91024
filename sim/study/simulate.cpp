#include "sim/study/simulate.hpp"
