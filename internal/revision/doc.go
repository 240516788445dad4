// Package revision identifies the running program, so that two machines can check that their programs yield the same
// bytes.
package revision
