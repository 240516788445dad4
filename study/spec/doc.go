// Package spec reads experiments: the strict YAML of a file, with options applied, becomes a
// valid Spec with a point for each combination of its sweep. What is wrong comes back all
// together, each with its place. The registry says what a file can name.
package spec
