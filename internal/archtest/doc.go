// Package archtest checks by parsing the sources that imports go down only, and that what
// lies below the worlds is pure: no clock, goroutine, channel, lock, file or global chance,
// and no order of a map that reaches a result.
package archtest
