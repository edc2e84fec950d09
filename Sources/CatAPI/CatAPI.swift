// Placeholder until the first source file of this module lands.
