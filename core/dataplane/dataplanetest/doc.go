// Package dataplanetest is the contract between switches and their drivers, as
// scripts: what comes in at which time, and what must go out. Every driver (the
// direct one here, the simulator's, the lab's) passes Contract; drivers that are
// broken on purpose (Mutants) must not.
package dataplanetest
