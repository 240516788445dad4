// Package cc is the contract between a transport and a congestion controller. To write one:
//
//  1. Declare a configuration with a method Params, which binds its fields to parameters with defaults and bounds.
//  2. Write a type with the six methods of Controller. Events report what happened to one flow's packets; Decision
//     returns the window, the rate and the next timer. NewWindow has what controllers of the AIMD family share.
//  3. Define makes a Scheme of both, which experiments name. It goes into the registry (package app) as one line.
//
// The transport owns everything else: what is lost, what is sent again, and when. Each controller of Weir has a folder;
// those with a rate can be put into a BoundedWindow, and package supply bounds any of them by what NACKs of switches
// offer. cctest has the model that every controller must pass.
package cc
