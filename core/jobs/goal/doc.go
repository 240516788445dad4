// Package goal reads and writes GOAL files, in which programs for networks (LogGOPSim, ATLAHS, htsim) say what the
// ranks of a job do: as text, and in the binary form.
package goal
