/* The network simulator. */
#include "sim/sim_network.h"
