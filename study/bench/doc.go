// Package bench is the performance suite. Its workloads are ordinary experiments, so it times what users run. It gives
// figures as work per second. Since absolute times vary on shared machines, it also gives work per operation of a
// fixed calibration loop that runs in between.
package bench
