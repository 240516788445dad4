// Package transport is the contract between hosts and flows: an Endpoint is one
// half of a flow, a pure state machine that takes packets, emits packets and says
// when it wants to go on. Each transport has a folder.
package transport
