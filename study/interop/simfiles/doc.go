// Package simfiles reads and writes the text files of HPCC's public simulator
// (alibaba-edu/High-Precision-Congestion-Control, ns-3): config.txt, the list of nodes to trace, and its results
// fct.txt, pfc.txt and qlen.txt. Packages topology and workload have its topology and flow files. Formats and
// formulas are in docs/sources.md#hpcc-simulator.
//
// Readers return a *FormatError with file, line, column and the allowed values. Writers write their results so that
// they read the same.
package simfiles
