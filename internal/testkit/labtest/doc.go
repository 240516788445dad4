// Package labtest makes the lab's network for tests of what talks over it: two hosts at
// one switch that forwards. Linux only.
package labtest
