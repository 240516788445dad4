// Package spec reads experiments: the strict YAML of a file, with options applied, becomes a
// valid Spec with a point for each combination of its sweep, which nothing changes from then on.
// What is wrong comes back all together, each with its place. The registry says what a file can
// name. Package plan makes runs of it, and reads files for all who have no Trial of their own.
package experiment
