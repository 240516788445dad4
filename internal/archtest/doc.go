// Package archtest checks by parsing the sources that dependencies go down only, directly and through other packages,
// and that what lies below the worlds is pure: no clock, goroutine, channel, lock, file or global chance, and no order
// of a map that reaches a result. It also limits sizes and the number of packages whose types share a name, and checks
// that exported names of published packages have comments, that docs/design.md lists the optional interfaces, and that
// comments name declarations that exist.
package archtest
