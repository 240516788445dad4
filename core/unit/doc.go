// Package unit has the quantities of this field: time in picoseconds, bit and
// packet rates, bytes; strict reading, printing, and products that cannot
// overflow.
package unit
