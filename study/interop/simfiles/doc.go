// Package simfiles reads and writes the text files of HPCC's public simulator
// (alibaba-edu/High-Precision-Congestion-Control, ns-3) beside its topology (package
// topology) and its flows (package workload): config.txt, the list of nodes to trace,
// and its results fct.txt, pfc.txt and qlen.txt. Formats and formulas
// are in docs/sources.md#hpcc-simulator.
//
// Readers give a *FormatError that says file, line, column and what is allowed; what they
// give, writers write so that it reads the same.
package simfiles
