// Package archtest checks by parsing the sources that imports point left only,
// and that what is left of the drivers is pure: no clock, goroutine, channel,
// lock, file or global chance, and no order of a map that reaches a result.
package archtest
