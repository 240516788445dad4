// Package hpccsim makes experiments of the files of the HPCC simulator (config.txt, topology
// and flows), and writes results as its files.
package hpccsim
