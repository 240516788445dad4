// Package labtest makes the lab's network for tests of programs that use it: two hosts at one forwarding switch.
// Linux only.
package labtest
