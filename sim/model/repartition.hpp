#pragma once
#include "sim/model/workload.hpp"

namespace pipecast {

/// The same model cut into another number of stages.
///
/// Costs and bytes are taken as spread evenly over each old stage; stage k of n covers the share
/// [k/n, (k+1)/n] of the model and gets what lies in it. Messages are the ones of the old boundary
/// at or before the new one: an activation between layers does not shrink when stages do. Exact
/// when old stages are cut into equal parts or joined whole. Used to compare schedules with
/// different chunk counts on one model. O(old + new stages), times microbatches when costs vary by
/// microbatch.
Workload repartition(const Workload& workload, int stages);

}  // namespace pipecast
