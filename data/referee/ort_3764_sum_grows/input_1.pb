BrowJWm?/7G?1
¿P×>