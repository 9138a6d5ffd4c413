"""The store on a SQL database: SQLite or PostgreSQL, through SQLAlchemy."""
