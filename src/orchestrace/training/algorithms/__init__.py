"""One algorithm a file, over the losses and the learner they share. `ALGORITHMS` names them at the edge, in `loop`."""
