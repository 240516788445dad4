// Package unit has the quantities of networking: time in picoseconds, bit and packet rates,
// bytes; strict parsing, printing, and products that cannot overflow.
package unit
