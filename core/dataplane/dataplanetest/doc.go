// Package dataplanetest is the contract between switches and their drivers, as scripts: the arrivals and their times,
// and the expected departures. Every driver (the direct one here, the simulator's, the lab's) passes CheckContract;
// drivers with deliberate faults (TestCheckContract_DetectsMutants) must not.
package dataplanetest
