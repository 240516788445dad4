// Package goal reads and writes GOAL files, in text and in binary form. Programs for networks (LogGOPSim, ATLAHS,
// htsim) describe the operations of a job's ranks in such files.
package goal
