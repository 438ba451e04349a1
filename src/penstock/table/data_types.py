"""The types of columns."""
# ruff: noqa: D102, N802 (PyFlink's names; what a type is, its name says)

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DataType:
    """The type of a column, as SQL writes it.

    >>> DataTypes.DECIMAL(10, 2)
    DECIMAL(10, 2)
    """

    name: str
    nullable: bool = True

    @property
    def ddl(self) -> str:
        """The text that declares it."""
        return self.name if self.nullable else f"{self.name} NOT NULL"

    def not_null(self) -> DataType:
        """The same without missing values."""
        return DataType(self.name, nullable=False)

    def __repr__(self) -> str:
        return self.ddl


class DataTypes:
    """Makes the types of columns."""

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> DataType:
        return DataType("BOOLEAN", nullable)

    @staticmethod
    def TINYINT(nullable: bool = True) -> DataType:
        return DataType("TINYINT", nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> DataType:
        return DataType("SMALLINT", nullable)

    @staticmethod
    def INT(nullable: bool = True) -> DataType:
        return DataType("INT", nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> DataType:
        return DataType("BIGINT", nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> DataType:
        return DataType("FLOAT", nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> DataType:
        return DataType("DOUBLE", nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> DataType:
        return DataType(f"DECIMAL({precision}, {scale})", nullable)

    @staticmethod
    def STRING(nullable: bool = True) -> DataType:
        return DataType("STRING", nullable)

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> DataType:
        return DataType(f"CHAR({length})", nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> DataType:
        return DataType(f"VARCHAR({length})", nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> DataType:
        return DataType("BYTES", nullable)

    @staticmethod
    def DATE(nullable: bool = True) -> DataType:
        return DataType("DATE", nullable)

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> DataType:
        return DataType(f"TIME({precision})", nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> DataType:
        return DataType(f"TIMESTAMP({precision})", nullable)

    @staticmethod
    def ARRAY(element_type: DataType, nullable: bool = True) -> DataType:
        return DataType(f"ARRAY<{element_type.name}>", nullable)

    @staticmethod
    def MAP(key_type: DataType, value_type: DataType, nullable: bool = True) -> DataType:
        return DataType(f"MAP<{key_type.name}, {value_type.name}>", nullable)
