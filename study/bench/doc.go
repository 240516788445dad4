// Package bench is the performance suite. Its workloads are ordinary experiments,
// so what is timed is what users run; figures come as work per second and, because
// absolute times mean little on shared machines, as work per operation of a fixed
// calibration loop that runs in between.
package bench
